"""Upper bounds on the success of any link, from the law of the mask and the records of this very file."""
