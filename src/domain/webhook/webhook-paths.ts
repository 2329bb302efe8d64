/** Paths of the webhook; those of admission are below a secret path segment. */
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

/**
 * The path of the webhook of this name (`webhooks[].name` of its configuration) below a segment.
 */
export function admissionPath(segment: string, webhookName: string): string {
  return `/${segment}/admit/${webhookName.split(".", 1)[0] ?? ""}`;
}
