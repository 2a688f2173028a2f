"""``dmlcts spec site``: what its pages show, gathered from specs, cases, waivers and runs."""
