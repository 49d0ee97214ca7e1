// AuditRecord: an audit event with its encoded form, which all backends share. Made by audit-backends.ts.
import { type AuditEvent, formatJsonEvent, formatLegacyEvent } from './audit-event.ts';
import { isAtLeast } from './audit-policy.ts';

/** The members that an event has on its own but not as an item of an EventList. */
const ownType = Buffer.from('{"kind":"Event","apiVersion":"audit.k8s.io/v1",');
const opening = Buffer.from('{');

export const truncatedAnnotation = 'audit.k8s.io/truncated';

export class AuditRecord {
  #event: AuditEvent;
  #json: Buffer | undefined;
  #truncated: AuditRecord | undefined;

  constructor(event: AuditEvent) {
    this.#event = event;
  }

  get auditId(): string {
    return this.#event.auditId;
  }

  /** The event as a line of JSON. */
  get json(): Buffer {
    if (this.#json === undefined) {
      this.#json = Buffer.from(formatJsonEvent(this.#event));
      // The objects are in the bytes now; a record may wait for minutes.
      this.#event = { ...this.#event, requestObject: undefined, responseObject: undefined };
    }
    return this.#json;
  }

  /** The event as an item of an EventList: without its type and its newline. */
  get item(): readonly Buffer[] {
    return [opening, this.json.subarray(ownType.length, -1)];
  }

  /** The event as a line of text. */
  get legacy(): Buffer {
    return Buffer.from(formatLegacyEvent(this.#event));
  }

  /** True when {@link AuditRecord.truncated} may be smaller, because the level keeps objects. */
  get hasObjects(): boolean {
    return isAtLeast(this.#event.level, 'Request');
  }

  /** Returns the event without its objects, and with the annotation that marks this. */
  truncated(): AuditRecord {
    this.#truncated ??= new AuditRecord({
      ...this.#event,
      requestObject: undefined,
      responseObject: undefined,
      annotations: new Map([...this.#event.annotations, [truncatedAnnotation, 'true']]),
    });
    return this.#truncated;
  }
}
