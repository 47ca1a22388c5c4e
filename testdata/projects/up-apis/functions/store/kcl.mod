[package]
name = "store"
version = "0.0.1"
