"""Planted faults: does the suite find them?"""
