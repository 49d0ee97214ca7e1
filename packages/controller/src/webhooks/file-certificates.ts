// FileCertificates reads the certificate from files, such as a mounted Secret of cert-manager, and reads them again when they change.
// Source: controller-runtime pkg/certwatcher.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock, Logger } from '@kapstan/api';
import type { CertificateEvents, CertificateSource, ServedCertificates } from './certificate-source.ts';
import { Wake } from './wake.ts';

/**
 * Files with the certificate of the webhooks, PEM. They are followed: a renewed certificate is used without a
 * restart.
 */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /**
   * Authorities that API servers should trust; they are written into the configurations. Absent = something else does
   * that, such as cert-manager's CA injector.
   */
  readonly caFile?: string;
}

/** Source: certwatcher defaultWatchInterval. A watch of the folder would miss some file systems. */
const lookMs = 10_000;

export class FileCertificates implements CertificateSource {
  readonly #files: CertificateFiles;
  readonly #logger: Logger;
  readonly #wake: Wake;
  #work: Promise<void> = Promise.resolve();
  #events: CertificateEvents | undefined;
  #last = '';

  constructor(files: CertificateFiles, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#files = files;
    this.#logger = logger;
    this.#wake = new Wake(clock);
  }

  /** Rejects when the files cannot be used. */
  async start(events: CertificateEvents, signal: AbortSignal): Promise<ServedCertificates> {
    this.#events = events;
    const first = await this.#read();
    this.#last = JSON.stringify(first);
    events.onChange(first);
    this.#work = this.#follow(signal);
    return first;
  }

  async refresh(): Promise<void> {
    const next = await this.#read();
    const text = JSON.stringify(next);
    if (text === this.#last) return;
    // This call comes first, because it throws for files that cannot be used, which are then tried again.
    this.#events?.onChange(next);
    this.#last = text;
    this.#logger.info('read the changed certificate of webhooks', { file: this.#files.certFile });
  }

  wake(): void {
    this.#wake.now();
  }

  ended(): Promise<void> {
    return this.#work;
  }

  /** Never rejects. The last usable certificate stays in use. */
  async #follow(signal: AbortSignal): Promise<void> {
    let told = '';
    for (;;) {
      await this.#wake.wait(lookMs, signal);
      if (signal.aborted) return;
      try {
        await this.refresh();
        told = '';
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        if (text !== told) this.#logger.warn(`cannot use the changed certificate of webhooks: ${text}`);
        told = text;
      }
    }
  }

  async #read(): Promise<ServedCertificates> {
    const { certFile, keyFile, caFile } = this.#files;
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    const bundle = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    const certificate = parsed(certFile, () => new X509Certificate(cert));
    const privateKey = parsed(keyFile, () => createPrivateKey(key));
    if (!certificate.checkPrivateKey(privateKey))
      throw new Error(`${keyFile}: the private key does not match the certificate in ${certFile}`);
    if (bundle !== undefined) parsed(caFile ?? '', () => new X509Certificate(bundle));
    return { serving: { cert, key }, bundle };
  }
}

function parsed<T>(file: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
