"""The rehearsal's speakers: who says what when no language model speaks."""
