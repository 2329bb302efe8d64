/** The certificates of a PEM text, each from its first to its last line, valid or not. */
export function certificateBlocks(pem: string): readonly string[] {
  const [, ...rests] = pem.split(begin);
  return rests.flatMap((rest) => {
    const [body = "", ...others] = rest.split(end, 2);
    return others.length === 0 || body.includes("-") ? [] : [begin + body + end];
  });
}

const begin = "-----BEGIN CERTIFICATE-----";
const end = "-----END CERTIFICATE-----";
