/** Where kube-apiserver asks the webhook. */
export const webhookPaths = { tokenReview: "/token-review", accessReview: "/access-review" } as const;
