"""Speed of the compiler and of the programs it makes; results are JSON, comparable between commits."""
