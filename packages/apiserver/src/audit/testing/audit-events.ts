// Builders of audit events for tests.
import type { AuditEvent } from '../audit-event.ts';
import { AuditRecord } from '../audit-record.ts';

/** Returns a minimal event with the given members added. */
export function auditEvent(auditId: string, more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    level: 'Metadata',
    auditId,
    stage: 'RequestReceived',
    requestUri: '/',
    verb: 'get',
    user: undefined,
    impersonatedUser: undefined,
    impersonationConstraint: undefined,
    sourceIps: [],
    userAgent: '',
    objectRef: undefined,
    responseStatus: undefined,
    requestObject: undefined,
    responseObject: undefined,
    receivedMs: 0,
    stageMs: 0,
    annotations: new Map(),
    ...more,
  };
}

export function recordOf(auditId: string, more: Partial<AuditEvent> = {}): AuditRecord {
  return new AuditRecord(auditEvent(auditId, more));
}
