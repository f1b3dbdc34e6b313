"""The SQL store: tables, sessions and the queries the rooms above share."""
