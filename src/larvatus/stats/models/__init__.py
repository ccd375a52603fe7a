"""Predictive models: logistic regression, CART, the terms of a design, attribute predictors.

Least squares belongs to linear.
"""
