/** Paths of the webhook; those of admission are below a secret segment. */
export const webhookPaths = {
  tokenReview: "/token-review",
  accessReview: "/access-review",
  keyAdmission: "/admit/ownedaccesskeys",
  ownerAdmission: "/admit/owner-references",
  deletionTimestamp: "/admit/deletion-timestamp",
  scopeAdmission: "/admit/scope",
  connectorData: "/admit/connector-data",
  sharedSecretData: "/admit/sharedsecret-data",
  requesterStamp: "/admit/requester-annotations",
} as const;

/**
 * The path of the webhook with this name (`webhooks[].name` of its configuration), below the
 * segment.
 */
export function admissionPath(segment: string, webhookName: string): string {
  return `/${segment}/admit/${webhookName.split(".", 1)[0] ?? ""}`;
}
