"""Programs that break and keep the rules of transfers and of what happened before, as in `step_examples`."""

# rule -> (breaks it, does not); "|" separates lines
SEQUENCE_EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "same-step-read": [
        ("fvadd $lr0v $ls0v $ln0v; iinc $m0v $lr2v", "fvadd $lr0v $ls0v $ln0v; iinc $m0v $lr8v"),
        ("gmwrite $lr0v $lx0; iinc $s0v $lr2v", "gmwrite $lr2v $lx0; iinc $s0v $lr0v"),
        ("fvpassa $lr0 $ln0v; ipassa $m0v $lr0", "fvpassa $lr0 $ln0v; ipassa $m0v $ls0"),
        ("fvpassa $lr[0,0,0,2] $ln0v; ipassa $m0 $lr2/1000", "fvpassa $lr[0,0,0,2] $ln0v; ipassa $m0 $lr2/0001"),
        ("maskr 20|fvpassa $lr0v $ln0v; ipassa $m0v $lr4", "maskr 17|fvpassa $lr0v $ln0v; ipassa $m0v $lr4"),
        ("l1bmm@0 $ls0v $lb0; ipassa $m0v $ls2v", "linc $ls0 $ls0"),
    ],
    "latch-idle": [
        ("lpassa $aluf $lr0", "zero $nowrite|lpassa $aluf $lr0"),
        ("zero $t|gmmul $lx $lr0 $ln0|lpassa $aluf $lr0", "zero $t|gmmul $lx $lr0 $ln0; noforward|lpassa $aluf $lr0"),
        ("zero $t|lpassa $mauf $lr0", "zero $t|nop|nop/4|lpassa $aluf $lr0"),
        ("gmwrite $lr0 $lx0|lpassa $mreadf $lr0", "gmread $lx0 $nowrite|lpassa $mreadf $lr0"),
        ("l1bmm@0 $lr0 $lb0|lpassa $lbf $lr0", "l1bmm $lb0 $nowrite|lpassa $lbf $lr0"),
    ],
    "matrix-precision": [
        ("gmwrite $lr0v $lx0|nop|hmmul $lx $ls0v $nowrite", "gmwrite $lr0v $lx0|fmmul $lx $s0v $nowrite"),
        ("hmwrite $lr0v $ly0|gmread $ly0 $t", "hmwrite $lr0v $lx0|hmread $llx0 $t; hmwrite $ls0v $ly0"),
        ("dmwrite $lr0v $lx0|nop|gmmul $lx $ls0v $ln0", "dmwrite $lr0v $lx0|gmwrite $ls0v $lx0|gmmul $lx $ls0v $ln0"),
    ],
    "turnaround-empty": [
        ("l1bmm $lbi $lr0", "l1bmm@0 $lr0 $lbi|l1bmm $lbi $ls0"),
        ("l1bmm $lbi $ls0; l1bmm@0 $lr0 $lbi", "l1bmm@0 $lr0 $lb0|nop/9|zero $t|l1bmm $lbi $ls0"),
        ("l1bmm@0 $lr0 $lbi; noforward|l1bmm $lbi $ls0", "l1bmrdfadd $lr0 $lbi|l1bmm $lbi $ls0; l1bmrdfadd $lr0 $lbi"),
    ],
    "turnaround-kind": [
        ("l1bmm@0 $lr0 $lbi|l1bmm4 $lbi $ls0", "l1bmm4@0 $lr0 $lbi|l1bmm4 $lbi $ls0"),
        ("l1bmm@0 $llr0 $llbi|l1bmm $lbi $ls0", "l1bmm@0 $llr0 $llbi|l1bmm $llbi $lls0"),
    ],
    "turnaround-shift": [
        ("l1bmd+1 $lr0 $lbi|l1bmd $lbi $ls0", "l1bmd+1 $lr0 $lbi|l1bmd+1 $lbi $ls0"),
        ("l1bmd $lr0 $lbi|l1bmd-1 $lbi $ls0", "l1bmd-1 $lr0 $lbi|l1bmd-1 $lbi $ls0"),
    ],
    "l1bm-form": [("l1bmd $llb0 $llr0", "l1bmd $lb0 $lr0"), ("l1bmd $llr0 $llb0", "l1bmd $lr0 $lb0")],
    "l1bm-width": [("l1bmm $lb0 $llr0", "l1bmm $llb0 $llr0")],
    "transfer-alignment": [
        ("l1bmm $lb2 $lr0", "l1bmp $lb2 $lr0"),
        ("l1bmm $llb4 $llr0", "l1bmm $llb8 $llr0"),
        ("l1bmd $lb32 $lr0", "l1bmd $lb64 $lr0"),
        ("l1bmm4@0 $llr0 $llb16", "l1bmm4@0 $lr0 $lb16"),
        ("l2bmb $lc8 $lb0", "l2bmb $lc16 $lb16"),
        ("l2bmd $lc32 $lb0", "l2bmd $lc64 $lb8"),
        ("l2bmi@0/4 $lb8 $lb16", "l2bmi@0/4 $lb16 $lb32"),
    ],
    "selector-range": [
        ("l1bmm@16 $lr0 $lb0", "l1bmm@15 $lr0 $lb0"),
        ("l1bmd+16 $lr0 $lb0", "l1bmd-15 $lr0 $lb0"),
        ("l2bm@8 $lb0 $lc0", "l2bm@7 $lb0 $lc0"),
    ],
    "selector-quad": [("l1bmm4@4 $lr0 $lb0", "l1bmm4@3 $lr0 $lb0")],
    "reduction-width": [
        ("l1bmrdfadd $llr0 $llb0", "l1bmrffadd $llr0 $llb0"),
        ("l1bmrlor $llr0 $llb0", "l1bmrlbor $llr0 $llb0"),
    ],
    "reduction-suffix": [
        ("l1bmrdfadd $lr0e $lb0", "l1bmrffadd $lr0e $llb0"),
        ("l1bmm@0 $lr0e $lb0", "l1bmm@0 $lr0 $lb0"),
        ("l1bmrffaddr $llr0 $llb0", "l1bmrffaddr $llr0 $lb0"),
    ],
    "l1b-set": [
        ("l2bmb@0,3 $lc0 $lb0", "l2bmb@0/1 $lc0 $lb0"),
        ("l2bmi@0/7 $lb0 $lb64", "l2bmi@0/6 $lb0 $lb64"),
    ],
    "l1b-list": [("l2bmb@0,1 $lc0 $lb0", "l2bmb@0/1 $lc0 $lb0"), ("l2bmb@[0] $lc0 $lb0", "l2bmb@0 $lc0 $lb0")],
    "pairing-unattested": [("l2bmb2 $lc0 $lb0", "l2bmb $lc0 $lb0")],
    "dar-model": [("l2bmdars $lc0@.1 $dar0", "l2bmdarw")],
    "mv-form": [
        ("mvp/n64 $d0 $lc0", "mvp/n64 $lc0 $d0"),
        ("mvb/n64 $p0 $lc0", "mvb/n64 $p0@0 $lc0"),
        ("mvb2/n64 $p0@0 $lc0", "mvb2/n64 $d0 $lc0"),
        ("mvp/n64 $d0@0 $d64@1", "mvp/n64 $p0@0 $p64@1"),
        ("mvb/n64 $di0 $lc0", "mvb/n64 $d0 $lc0"),
    ],
    "mv-size": [("mvp/n32 $p0@0 $d0@0", "mvp/n64 $p0@0 $d0@0"), ("mvp/n0 $p0@0 $d0@0", "mvp/n128 $p0@0 $d0@0")],
    "mv-size-large": [("mvp/n32832 $p0@0 $d0@0", "mvp/n32768 $p0@0 $d0@0")],
    "mv-mvd-count": [("mvd/n64 $p0@0 $lc0", "mvd/n64 $lc0 $p0@0")],
    "mv-mvd-dram": [("mvd/n64 $p0@0 $d0", "mvp/n64 $p0@0 $d0@0"), ("mvd/n64 $d0 $p0@0", "mvp/n64 $d0@0 $p0@0")],
    "mv-pdm-reduction": [("mvr2dfadd/n64 $lc0 $p0", "mvr2dfadd/n64 $lc0 $d0")],
    "mv-unnamed-l2b": [("mvp/n64 $lc0 $d0", "mvp/n64 $lc0@.0 $d0")],
    "mv-instance": [
        ("mvp/n64 $p0@4 $d0@0", "mvp/n64 $p0@3 $d0@0"),
        ("mvp/n64 $p0@0 $lc0@0.2", "mvp/n64 $p0@0 $lc0@0.1"),
        ("l2bmdars $lc0@.2 $dar0", "l2bmdars $lc0@.1 $dar0"),
        ("l2bmdars $lc0 $dar0", "l2bmdars $lc0@.0 $dar0"),
    ],
    "mv-repeat": [
        ("mvp/n64nd1 $d0 $lc0@.0", "mvp/n64nd1 $di0 $lc0@.0"),
        ("mvr2lor/n64nd1 $lc0 $di0", "mvr2lor/n64 $lc0 $di0"),
    ],
    "mv-repeat-many": [("mvp/n64nd2 $di0 $lc0@.0", "mvp/n64nd1 $di0 $lc0@.0")],
    "mv-tag": [
        ("mvp/n64i00 $p0@0 $d0@0", "mvp/n64i01 $p0@0 $d0@0"),
        ("mvp/n64i00 $p0@0 $d0@0", "mvp/n64i40 $p0@0 $d0@0"),
    ],
    "tag-large": [
        ("mvp/n64i40 $p0@0 $d0@0", "mvp/n64i3f $p0@0 $d0@0"),
        ("nop; wait iff", "nop; wait i3f"),
    ],
    "tag-balance": [
        ("mvp/n64i01 $p0@0 $d0@0", "mvp/n64i01 $p0@0 $d0@0|nop; wait i01"),
        ("nop; wait i01|mvp/n64i01 $p0@0 $d0@0|nop; wait i01", "nop; wait i02|mvp/n64i01 $p0@0 $d0@0|nop; wait i01"),
        ("mvp/n64i01 $p0@0 $d0@0|nop; wait i01|nop; wait i01", "mvp/n64 $p0@0 $d0@0|nop; wait i01|nop; wait i01"),
    ],
    "masks-left": [
        ("maskr 1|nop", "maskr 1|nop|mask 0"),
        ("mask 0|maskmn 24|nop|quit|mask 0", "maskmn 24|nop|maskr 31|quit"),
    ],
    "mv-tag-reuse": [
        (
            "mvp/n64i01 $p0@0 $d0@0|mvp/n64i01 $p0@1 $d0@1",
            "mvp/n64i01 $p0@0 $d0@0|nop; wait i01|mvp/n64i01 $p0@1 $d0@1",
        ),
    ],
    "mv-unwaited": [
        ("mvp/n64i01 $p0@0 $lc0@0.0|l2bmb $lc0 $lb0", "mvp/n64i01 $p0@0 $lc0@0.0|l2bmb $lc0 $lb0; wait i01"),
        ("mvp/n64 $p0@0 $lc0@0.0|nop/99|l2bmb $lc0 $lb0", "mvp/n64 $p0@0 $lc0@0.0|l2bmb $lc64 $lb0"),
        ("mvp/n64i01 $lc0@0.0 $p0@0|l2bmd $lb0 $lc0", "mvp/n64i01 $lc0@0.0 $p0@0|l2bmb $lc0 $lb0"),
        ("mvp/n64i01 $di0 $lc0@.0|l2bmdarw", "mvp/n64i01 $d0 $lc0@.0|l2bmdarw"),
    ],
    "mv-untagged": [
        (
            "mvp/n64 $p0@0 $lc0@0.0|mvp/n64i01 $p64@0 $lc0@1.0|l2bmb $lc0 $lb0; wait i01",
            "mvp/n64i02 $p0@0 $lc0@0.0|mvp/n64i01 $p64@0 $lc0@1.0|nop; wait i02|l2bmb $lc0 $lb0; wait i01",
        ),
        (
            "mvp/n64 $p0@0 $lc0@0.0|mvp/n64 $p0@1 $lc64@0.0|mvp/n64i01 $p0@1 $lc0@1.0|l2bmb $lc0 $lb0; wait i01",
            "mvp/n64i02 $p0@0 $lc0@0.0|mvp/n64i01 $p64@0 $lc0@1.0|nop; wait i02|l2bmb $lc0 $lb0; wait i01",
        ),
    ],
    "mv-conflict": [
        (
            "mvp/n64 $p0@0 $lc0@0.0|mvp/n64 $lc0@0.0 $d0@0",
            "mvp/n64i01 $p0@0 $lc0@0.0|nop; wait i01|mvp/n64 $lc0@0.0 $d0@0",
        ),
        ("mvp/n128 $p0@0 $lc0@0.0|mvp/n64 $d0@0 $lc64@0.0", "mvp/n128 $p0@0 $lc0@0.0|mvp/n64 $d0@0 $lc128@0.0"),
        ("mvp/n64 $p0@0 $lc0@0.0|mvp/n64 $d0@1 $p0@0", "mvp/n64 $p0@0 $lc0@0.0|mvp/n64 $d0@1 $p64@0"),
    ],
    "debug-payload": [
        ("d set $lr0 2 0000000000000001", "d set $lr0 1 0000000000000001"),
        ("d set $llb0 1 0000000000000001", "d set $lb0 1 0000000000000001"),
        ("d set $llr0 1 0000000000000001", "d set $r0 1 0000000000000001"),
    ],
    "debug-memory": [
        ("d set $d0n0 1 0000000000000001", "d set $lc0n0 1 0000000000000001"),
        ("d set $omr1 1 0000000000000001", "d set $lt 1 0000000000000001"),
        ("d set $lx0 1 0000000000000001", "d set $lb0 1 0000000000000001"),
    ],
    "debug-dtype": [("d get $lx0n0 1", "d getf $lx0n0 1")],
    "debug-count": [
        ("d getf $lx0n0 17", "d getf $lx0n0 16"),
        ("d get $omr30n0 3", "d get $omr30n0 2"),
        ("d get $lr0p0 513", "d get $lr0p0 512"),
        ("d get $d0n0 1048577", "d get $d0n0 1048576"),
    ],
    "spelling": [("nop ! x", "nop # !"), ("nop ! x", "nop;")],
    "hazard-1": [("l2bmd $lb0 $lc0|mvp/n64 $lc0@0.0 $d0@0", "l2bmd $lb0 $lc0|nop|mvp/n64 $lc0@0.0 $d0@0")],
    "hazard-2": [("l2bmd $lb0 $lc0|nop/2|l2bmd $lc512 $lb64", "l2bmd $lb0 $lc0|nop/3|l2bmd $lc512 $lb64")],
    "hazard-3": [("l2bmd $lc0 $lb0|nop/2|l2bmd $lb512 $lc64", "l2bmd $lc0 $lb0|nop/3|l2bmd $lb512 $lc64")],
    "hazard-4": [("l2bmi@0/4 $lb0 $lb64|nop/2|l2bm@0 $lb512 $lc64", "l2bmi@0/4 $lb0 $lb64|nop/3|l2bm@0 $lb512 $lc64")],
    "hazard-5": [("l2bmi@0/4 $lb0 $lb64|nop/2|l1bmm $lb512 $lr0", "l2bmi@0/4 $lb0 $lb64|nop/3|l1bmm $lb512 $lr0")],
    "hazard-6": [
        ("l2bmd $lc0 $lb0|l1bmm $llb0 $llr0v", "l2bmd $lc0 $lb0|nop|l1bmm $llb0 $llr0v"),
        ("l2bmb $lc0 $lb0|l1bmp $lb0 $lr0v", "l2bmb $lc0 $lb0|l1bmp $lb64 $lr0v"),
    ],
    "hazard-7": [
        ("l1bmm@0 $lln0v $llb0|nop|l2bmd $lb0 $lc0", "l1bmm@0 $lln0v $llb0|nop/2|l2bmd $lb0 $lc0"),
        ("l1bmm@0 $ln0v $lb0|nop/2|l2bm@0 $lb0 $lc0", "l1bmm@0 $ln0v $lb0|nop/3|l2bm@0 $lb0 $lc0"),
    ],
    "hazard-8": [
        ("l1bmm@0 $ln0v $lb0|nop|l1bmm $lb512 $lr0v", "l1bmm@0 $ln0v $lb0|nop/2|l1bmm $lb512 $lr0v"),
        ("l1bmm@0 $ln0v $lb0|nop/2|l1bmp $lb12 $lr0v", "l1bmm@0 $ln0v $lb0|nop/3|l1bmp $lb12 $lr0v"),
    ],
    "hazard-9a": [
        ("zero $lm0|nop|lpassa $lm64 $ls0", "zero $lm0|nop/2|lpassa $lm64 $ls0"),
        ("zero $lm0|zero $ls0|l1bmm@0 $lm64 $lb0", "zero $lm0|zero $lm8|lpassa $ln64 $ls0"),
    ],
    "hazard-9b": [
        ("zero $lr0v|lpassa $lr0v $ls0", "zero $lr0v|nop|lpassa $lr0v $ls0"),
        ("zero $r0/$imr1|nop|ipassa $r0 $s0", "zero $r0/$imr1|nop/2|ipassa $r0 $s0"),
        ("zero $lr0|nop|lpassa $lr0 $ls0", "zero $lr0|nop|lpassa $lr[128,128,128,0] $ls0"),
        ("zero $r0/0010|nop|ipassa $r0 $s0", "zero $r0/0100|nop|ipassa $r0 $s0"),
        ("maskr 1|zero $r0|nop|ipassa $r0 $s0", "maskr 24|zero $r0|nop|ipassa $r0 $s0"),
        ("maskr 24|zero $r0 $s0/1111|nop|ipassa $r0 $s0", "maskr 24|zero $r0|nop|ipassa $r0 $s0"),
    ],
    "hazard-9c": [
        ("zero $t|lpassa $t $ls0", "zero $t|nop|lpassa $t $ls0"),
        ("zero $t|lpassa $lmt $ls0", "zero $t; dvpassa $lmt $ln0"),
    ],
    "hazard-9e": [('imm i"4" $mb|nop|lpassa $lm0 $ls0', 'imm i"4" $mb|nop/2|lpassa $lm0 $ls0')],
}
