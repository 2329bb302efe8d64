import { X509Certificate } from "node:crypto";
import { components, labels, ownObjects } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { isRotationRequested, parseSigningKeys } from "../../src/tokens/signing-keys.ts";
import { parseServerCertificates } from "../../src/tokens/server-certificates.ts";
import type { Snapshot } from "../support/snapshot.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/**
 * The Secrets in Latchkey's namespace, without the differences between runs: connector data with its
 * key, certificates, and the states of the signing keys.
 */
export async function webhookStateOf(
  cluster: ProxiedCluster,
  { system, prefix }: View,
): Promise<Snapshot> {
  const items = listAt(
    await cluster.arrange({ method: "GET", path: `/api/v1/namespaces/${system}/secrets` }),
    "items",
  );
  const texts = items.flatMap((item) => {
    const metadata = recordAt(item, "metadata");
    if (recordAt(metadata, "labels")[labels.component] === components.connectorData) {
      const owners = listAt(metadata, "ownerReferences").map((owner) => stringAt(owner, "name"));
      return [
        {
          kind: "ConnectorData",
          metadata: { name: owners.join(" ") },
          data: Buffer.from(
            stringAt(recordAt(item, "data"), "connectorData") ?? "",
            "base64",
          ).toString("utf8"),
        },
      ];
    }
    if (metadata["name"] === ownObjects.signingKeys)
      return [{ kind: "SigningKeys", metadata: { name: "signing keys" }, ...signingKeysIn(item) }];
    return metadata["name"] === ownObjects.webhookCertificates
      ? [{ kind: "Certificates", metadata: { name: "certificates" }, ...certificatesIn(item) }]
      : [];
  });
  return texts.map((text) => JSON.stringify(text, undefined, 2).replaceAll(prefix, "the-")).sort();
}

function signingKeysIn(secret: unknown): object {
  const found = parseSigningKeys(secret);
  return { states: found.keys.map(({ state }) => state), isRequested: isRotationRequested(found) };
}

function certificatesIn(secret: unknown): object {
  const { ca, serving, client, dnsNames, admissionSegment } = parseServerCertificates(secret);
  const [first = ""] = ca.certificate.split(/(?<=-----END CERTIFICATE-----\n?)/);
  const isSigned = (certificate: string) =>
    new X509Certificate(certificate).verify(new X509Certificate(first).publicKey);
  const year = (certificate: string) =>
    Number(new X509Certificate(certificate).validToDate.getUTCFullYear()) -
    new Date().getUTCFullYear();
  return {
    hasAdmissionSegment: admissionSegment !== undefined,
    isServingSigned: isSigned(serving.certificate),
    isClientSigned: isSigned(client.certificate),
    names: dnsNames.length,
    authorities: ca.certificate.split("BEGIN").length - 1,
    years: [ca, serving, client].map(({ certificate }) => year(certificate)),
  };
}
