"""Predictive models of our own: logistic regression, CART, the terms of a design, attribute predictors."""
