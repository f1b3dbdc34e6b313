"""The command `kataribe`: one file a group of its commands."""
