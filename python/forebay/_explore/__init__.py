"""A scenario that lives: a page on this machine shows it while it runs (`forebay explore`)."""
