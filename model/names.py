"""What can be chosen by name, as settings write it, each with a sentence. Loads nothing heavy."""

FINETUNE = "finetune"
DEFAULT_CLASSIFIER = "linear"
CLASSIFIERS: dict[str, str] = {
    "linear": "Logistic regression on the features; trains in seconds.",
    "mlp": "Three fully connected layers on the features, as in the paper; trains in seconds.",
    FINETUNE: "A whole network on the images themselves; wants a graphics card.",
}

LINEAR_ONLY = ("alfa-mix",)  # strategies that need the gradients of the linear classifier
BY_COVERAGE = (  # strategies that choose alike, by coverage alone, while there are no labels
    *("uherding", "uherding-paper", "uherding-entropy", "uherding-confidence"),
    *("uherding-no-temperature", "uherding-no-radius", "uherding-fixed"),
    "maxherding",
)
READS_GRAPH = (*BY_COVERAGE, "weighted-kmeans", "alfa-mix")  # sooner done with a neighbour graph
DEFAULT_STRATEGY = "uherding"
STRATEGY_NAMES: dict[str, str] = {
    "uherding": "Uncertainty Herding with margins: covers what the classifier is unsure of.",
    "uherding-paper": "Uncertainty Herding to the letter: one split, the smallest distance.",
    "uherding-entropy": "Uncertainty Herding with entropies.",
    "uherding-confidence": "Uncertainty Herding with confidences.",
    "uherding-no-temperature": "Ablation: Uncertainty Herding with the temperature 1.",
    "uherding-no-radius": "Ablation: Uncertainty Herding with the radius of the first round.",
    "uherding-fixed": "Ablation: Uncertainty Herding with neither adapted.",
    "maxherding": "Covers the pool, blind to the classifier.",
    "probcover": "Covers the pool with balls of one radius.",
    "typiclust": "The most typical image of each cluster.",
    "coreset": "The image farthest from all labelled ones (k-center greedy).",
    "activeft": "Images near learned points that resemble the pool (ActiveFT).",
    "weighted-kmeans": "Covers the most uncertain images (weighted k-means).",
    "alfa-mix": "Covers images whose class changes when mixed with a labelled one.",
    "badge": "Diverse loss gradients, by k-means++ (BADGE).",
    "badge-kmeans": "Ablation: BADGE with k-means.",
    "badge-kmedoids": "Ablation: BADGE with k-medoids.",
    "badge-pam": "Ablation: BADGE with partitioning around medoids.",
    "badge-maxherding": "Ablation: BADGE with herding.",
    "badge-adapted": "Ablation: BADGE with herding, temperature and radius adapted.",
    "margin": "The smallest gaps between the two likeliest classes.",
    "entropy": "The largest entropies.",
    "confidence": "The least confident predictions.",
    "random": "By chance.",
}
