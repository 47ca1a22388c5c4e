module example.org/compiled

go 1.24
