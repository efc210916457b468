"""Attacks on answers, tried before a scripted obedient model and before a real one."""
