import { certificateSecrets } from "../api/names.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import { tlsOf } from "../tokens/webhook-certificates.ts";
import { Certificates, type CertificatesDeps } from "./certificates.ts";

/** The Service in front of a server, and more DNS names and IP addresses of the server. */
export interface ServiceNames {
  readonly namespace: string;
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  /** The common name of the client certificate; the name of the Service by default. */
  readonly clientName?: string;
}

/** The names in the serving certificate of a Service. */
export function dnsNamesOf({
  namespace,
  serviceName,
  externalNames,
}: ServiceNames): readonly string[] {
  return [
    `${serviceName}.${namespace}.svc`,
    `${serviceName}.${namespace}.svc.cluster.local`,
    `${serviceName}.${namespace}`,
    serviceName,
    ...externalNames,
  ];
}

/** Dependencies of {@link serviceCertificates}. */
export type ServiceCertificatesDeps = Omit<
  CertificatesDeps,
  "publishedBundles" | "onChange" | "onRecorded"
> & {
  /** Called for each set of valid certificates. */
  readonly onTls: (material: ServerTls) => void;
};

/** The certificates of a server whose clients learn its CA from an administrator. */
export function serviceCertificates(
  owner: keyof typeof certificateSecrets,
  names: ServiceNames,
  { onTls, ...deps }: ServiceCertificatesDeps,
): Certificates {
  return new Certificates(
    {
      ...deps,
      publishedBundles: () => [],
      onChange: (made) => onTls(tlsOf(made)),
      onRecorded: () => {},
    },
    {
      namespace: names.namespace,
      dnsNames: dnsNamesOf(names),
      clientName: names.clientName ?? names.serviceName,
      secret: certificateSecrets[owner],
    },
  );
}
