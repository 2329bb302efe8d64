/** Where kube-apiserver asks the webhook; the webhook configurations name the same. */
export const webhookPaths = {
  tokenReview: "/token-review",
  accessReview: "/access-review",
  keyAdmission: "/admit/ownedaccesskeys",
  ownerAdmission: "/admit/owner-references",
  scopeAdmission: "/admit/scope",
  connectorData: "/admit/connector-data",
  sharedSecretData: "/admit/sharedsecret-data",
  requesterStamp: "/admit/requester-stamp",
} as const;
