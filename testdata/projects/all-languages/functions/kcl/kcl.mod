[package]
name = "network"
version = "0.0.1"
