/** Where kube-apiserver asks the webhook. */
export const webhookPaths = { tokenReview: "/token-review", accessReview: "/access-review", keyAdmission: "/admit/ownedaccesskeys", ownerAdmission: "/admit/owner-references", connectorData: "/admit/connector-data" } as const;
