"""Tests of the whole service as a process: killed, stopped, misconfigured, with a real model."""
