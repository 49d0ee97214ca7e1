// FollowedCertificates follows the files of certificates and authorities, so that they can change without a restart. It
// sits between the files that flags name and the parts that present or trust certificates. Source: apiserver
// server/dynamiccertificates.
import { createSecureContext } from 'node:tls';
import type { Clock, Logger } from '@kapstan/api';
import { counterFamily, formatMetrics, type MetricsText, NumberSeries } from '@kapstan/api/internal';
import type { KeyPair } from '@kapstan/controller/certificates';
import { FollowedFile, type ReloadCounts } from '../followed-file/followed-file.ts';
import { readLimitedFile } from '../followed-file/limited-file.ts';
import { checkAuthorities, checkKeyPair } from './key-pair.ts';

/** The certificates that may change while a server runs, in PEM. Undefined = not given. */
export interface GivenCertificates {
  readonly serving: KeyPair | undefined;
  readonly clientCa: string | undefined;
  readonly frontProxyCa: string | undefined;
  /** The certificate that this server's proxy presents to other API servers. */
  readonly proxyClient: KeyPair | undefined;
  /** The certificate presented to kubelets. */
  readonly kubeletClient: KeyPair | undefined;
  readonly kubeletCa: string | undefined;
}

/** Paths of files in PEM. Each file is checked every 5 s, and a change takes effect without a restart. */
export interface CertificateFiles {
  /** The files of `serving`. */
  readonly serving?: KeyPair | undefined;
  /** The file of `clientCa`. */
  readonly clientCa?: string | undefined;
  /** The file of `frontProxy.clientCa`. */
  readonly frontProxyCa?: string | undefined;
  /** The files of `frontProxy.client`. */
  readonly proxyClient?: KeyPair | undefined;
  /** The files of `kubelet.clientCert` and `kubelet.clientKey`. */
  readonly kubeletClient?: KeyPair | undefined;
  /** The file of `kubelet.ca`. */
  readonly kubeletCa?: string | undefined;
}

export interface FollowedCertificatesOptions {
  readonly certificates: GivenCertificates;
  readonly files: CertificateFiles;
  readonly clock: Clock;
  readonly logger: Logger;
}

type CertificateName = keyof GivenCertificates;
type Listener = (next: GivenCertificates, changed: CertificateName) => Promise<void>;

/** Files are polled, whereas kube-apiserver is notified of changes and checks once a minute besides. */
const pollMs = 5_000;
/** A file of this size holds a thousand certificates. */
const maxBytes = 1024 * 1024;

const texts = {
  serving: 'serving certificate',
  clientCa: 'certificate authorities of clients',
  frontProxyCa: 'certificate authorities of front proxies',
  proxyClient: 'certificate of the proxy',
  kubeletClient: 'certificate for kubelets',
  kubeletCa: 'certificate authorities of kubelets',
} as const satisfies Record<CertificateName, string>;

export class FollowedCertificates implements MetricsText {
  readonly #options: FollowedCertificatesOptions;
  readonly #listeners: Listener[] = [];
  readonly #reloads = new NumberSeries();
  readonly #followed: FollowedFile[] = [];
  #current: GivenCertificates;

  constructor(options: FollowedCertificatesOptions) {
    this.#options = options;
    this.#current = options.certificates;
  }

  get current(): GivenCertificates {
    return this.#current;
  }

  /** Calls the listener after each change. A listener that rejects is called again at the next check of the file. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Begins to follow the files. `use` applies certificates at once, or throws and changes nothing. Call it once. */
  follow(use: (next: GivenCertificates, changed: CertificateName) => void): void {
    const { files } = this.#options;
    for (const name of ['serving', 'proxyClient', 'kubeletClient'] as const) {
      const pair = files[name];
      if (pair !== undefined)
        this.#follow({ name, read: () => readPair(pair), parse: (text) => parsePair(text, pair), use });
    }
    for (const name of ['clientCa', 'frontProxyCa', 'kubeletCa'] as const) {
      const path = files[name];
      if (path === undefined) continue;
      this.#follow({
        name,
        read: () => readLimitedFile(path, maxBytes),
        parse: (text) => parseAuthorities(text, path),
        use,
      });
    }
  }

  async metrics(): Promise<string> {
    const help = 'Number of times that a changed file of certificates was put to use or refused.';
    return formatMetrics([counterFamily('kapstan_certificate_reloads_total', help, this.#reloads.samples())]);
  }

  /** Idempotent. */
  close(): void {
    for (const file of this.#followed) file.close();
  }

  #follow<T extends KeyPair | string>({ name, read, parse, use }: FollowedSource<T>): void {
    const { certificates, clock, logger } = this.#options;
    const present = certificates[name];
    const text = typeof present === 'object' ? pairText(present) : (present ?? '');
    const file = new FollowedFile({
      what: texts[name],
      metrics: this.#counts(name),
      pollMs,
      read,
      text,
      clock,
      logger,
    });
    this.#followed.push(file);
    file.follow({
      parse,
      apply: async (parsed) => {
        if (file.isClosed) return false;
        // Atomic: another file may change while listeners are at work.
        const next = { ...this.#current, [name]: parsed };
        use(next, name);
        this.#current = next;
        for (const listener of this.#listeners) await listener(next, name);
        return true;
      },
    });
  }

  #counts(certificate: CertificateName): ReloadCounts {
    const add = (status: string): void => this.#reloads.add({ certificate, status });
    return { succeeded: () => add('success'), failed: () => add('failure') };
  }
}

interface FollowedSource<T> {
  readonly name: CertificateName;
  readonly read: () => Promise<string>;
  readonly parse: (text: string) => T;
  readonly use: (next: GivenCertificates, changed: CertificateName) => void;
}

/** Both files form one text, so that neither counts without the other. */
async function readPair({ cert, key }: KeyPair): Promise<string> {
  return pairText({ cert: await readLimitedFile(cert, maxBytes), key: await readLimitedFile(key, maxBytes) });
}

function pairText({ cert, key }: KeyPair): string {
  return JSON.stringify([cert, key]);
}

function parsePair(text: string, files: KeyPair): KeyPair {
  const [cert, key] = JSON.parse(text) as [string, string];
  checkKeyPair({ cert, key }, files);
  createSecureContext({ cert, key });
  return { cert, key };
}

function parseAuthorities(text: string, path: string): string {
  checkAuthorities(text, path);
  return text;
}
