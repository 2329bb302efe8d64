/**
 * Whether a text has the letters and the length of a data key of a Secret; crds/sharedsecrets.yaml
 * bounds the letters alone.
 */
export function isDataKey(key: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(key);
}

/** Whether a core Secret can have a data key (Kubernetes, apimachinery IsConfigMapKey). */
export function isSecretKey(key: string): boolean {
  return isDataKey(key) && key !== "." && !key.startsWith("..");
}
