/** Where kube-apiserver asks the webhook. */
export const webhookPaths = { tokenReview: "/token-review", accessReview: "/access-review", keyAdmission: "/admit/ownedaccesskeys", ownerAdmission: "/admit/owner-references" } as const;
