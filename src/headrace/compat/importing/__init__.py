"""`headrace import`: what another queue left on a server becomes jobs, feeds and figures here."""
