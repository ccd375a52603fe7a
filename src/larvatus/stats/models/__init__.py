"""Predictive models: logistic regression, CART, design terms, attribute predictors."""
