import { ownObjects } from "../../src/api/names.ts";
import { kubectl, type KubectlAccess } from "./kubectl.ts";

/** Where the gateway serves the central cluster. */
export const managementPath = "/kubernetes/management";

/** What the replicas of tests say of themselves in the list of connected clusters; not served. */
export const externalUrl = "https://latchkey.example.com";

/** The CA of the gateway's certificates, in PEM. */
export function gatewayCa(access: KubectlAccess): Promise<string> {
  return caOf(access, ownObjects.gatewayCertificates);
}

/** The CA of the issuer's certificates, in PEM. */
export function issuerCa(access: KubectlAccess): Promise<string> {
  return caOf(access, ownObjects.issuerCertificates);
}

/** The CA of the certificates of a direct endpoint, in PEM. */
export function directEndpointCa(access: KubectlAccess): Promise<string> {
  return caOf(access, ownObjects.directCertificates);
}

async function caOf(access: KubectlAccess, secret: string): Promise<string> {
  const encoded = await kubectl(access, [
    ...["get", "secret", secret, "--namespace=latchkey-system"],
    "--output=jsonpath={.data.ca\\.crt}",
  ]);
  return Buffer.from(encoded, "base64").toString("utf8");
}
