[package]
name = "function-example"
version = "0.0.1"
