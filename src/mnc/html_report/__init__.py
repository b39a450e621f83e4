"""``report.html``: what a program costs, as one file that opens from disk without a network.

`page.py` joins the data with the scripts of ``static/``; charts are drawn by Apache ECharts, which is shipped inside of
the file under its licence (``static/echarts.LICENSE``).
"""
