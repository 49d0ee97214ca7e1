// TruncatingBackend takes the objects out of large events, and drops events that are still too large, before they reach
// a backend. Made by audit-backends.ts. Source: apiserver plugin/pkg/audit/truncate.
import { type Logger, silentLogger } from '@kapstan/api';
import type { AuditBackend } from './audit-backend.ts';
import type { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';

export interface TruncatingBackendOptions {
  readonly backend: AuditBackend;
  readonly maxEventBytes: number;
  readonly counts: AuditCounts;
  readonly logger?: Logger | undefined;
}

export class TruncatingBackend implements AuditBackend {
  readonly #options: TruncatingBackendOptions;

  constructor(options: TruncatingBackendOptions) {
    this.#options = options;
  }

  /** A dropped event refuses no request, not even in the strict mode. */
  async write(record: AuditRecord): Promise<boolean> {
    const { backend, maxEventBytes, counts, logger = silentLogger } = this.#options;
    const isLarge = record.json.length > maxEventBytes && record.hasObjects;
    const fitting = isLarge ? record.truncated() : record;
    if (fitting.json.length <= maxEventBytes) return backend.write(fitting);
    counts.lost('truncate', 1);
    logger.error('an audit event is too large even after truncating; it is lost', {
      auditId: record.auditId,
      bytes: fitting.json.length,
    });
    return true;
  }

  close(withinMs: number): Promise<void> {
    return this.#options.backend.close(withinMs);
  }
}
