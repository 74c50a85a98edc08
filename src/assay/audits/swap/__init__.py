"""Gender swapping: does a score, or its agreement with people, change with gender?"""
