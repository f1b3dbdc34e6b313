"""People and maps of other programs: read into ours with a report of what was left out, and ours written as theirs."""
