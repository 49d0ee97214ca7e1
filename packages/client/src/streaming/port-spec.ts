// Parses the mapping of local ports to ports of a pod, as for kubectl port-forward: "8080", "8888:80", ":80".

export interface PortSpec {
  /** 0 = any free port. */
  readonly local: number;
  readonly remote: number;
}

/** Throws TypeError with client-go's texts. Source: client-go tools/portforward parsePorts. */
export function parsePortSpec(spec: string | number): PortSpec {
  const text = String(spec);
  const parts = text.split(':');
  if (parts.length > 2) throw new TypeError(`invalid port format '${text}'`);
  const [first = '', second] = parts;
  const remote = parsePort(second ?? first, 'remote');
  if (remote === 0) throw new TypeError('remote port must be > 0');
  if (second === undefined) return { local: remote, remote };
  return { local: first === '' ? 0 : parsePort(first, 'local'), remote };
}

function parsePort(text: string, side: 'local' | 'remote'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new TypeError(`error parsing ${side} port '${text}': must be a number from 0 to 65535`);
  return port;
}
