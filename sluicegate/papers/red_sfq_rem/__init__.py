"""A comparison of RED, SFQ and REM in ns-2 (IJCSI 8(5), 2011), repeated under many readings."""
