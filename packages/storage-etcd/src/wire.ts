// The protocol to etcd: loads proto/etcd.proto once, and declares the shapes of its decoded messages. Used by all
// files that talk to etcd.
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface WireHeader {
  readonly revision: number;
}

export interface WireKeyValue {
  readonly key: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
  readonly lease: number;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  /** Absent: the range is the one key. */
  readonly rangeEnd?: Uint8Array;
  readonly limit?: number;
  readonly revision?: number;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: WireHeader;
  readonly kvs: readonly WireKeyValue[];
  readonly more: boolean;
  readonly count: number;
}

/** Compares modification revisions only, which is all that this package needs. */
export interface TxnRequest {
  readonly compare: readonly {
    readonly target: typeof compareMod;
    readonly key: Uint8Array;
    readonly modRevision: number;
  }[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface RequestOp {
  readonly requestRange?: RangeRequest;
  readonly requestPut?: {
    readonly key: Uint8Array;
    readonly value: Uint8Array;
    readonly lease: number;
    readonly prevKv: boolean;
  };
  readonly requestDeleteRange?: { readonly key: Uint8Array; readonly prevKv: boolean };
}

interface ResponseOp {
  readonly responseRange?: { readonly kvs: readonly WireKeyValue[] };
  readonly responsePut?: { readonly prevKv: WireKeyValue | null };
  readonly responseDeleteRange?: { readonly prevKvs: readonly WireKeyValue[] };
}

export interface TxnResponse {
  readonly header: WireHeader;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface WatchRequest {
  readonly createRequest?: {
    readonly key: Uint8Array;
    readonly rangeEnd?: Uint8Array;
    readonly startRevision: number;
    readonly progressNotify: boolean;
    readonly prevKv: boolean;
    readonly watchId: number;
    readonly fragment: boolean;
  };
  readonly cancelRequest?: { readonly watchId: number };
  readonly progressRequest?: Record<string, never>;
}

export interface WireEvent {
  readonly type: number;
  readonly kv: WireKeyValue;
  readonly prevKv: WireKeyValue | null;
}

export interface WatchResponse {
  readonly header: WireHeader;
  readonly watchId: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly fragment: boolean;
  readonly events: readonly WireEvent[];
}

/** Value of Compare.CompareTarget MOD. */
export const compareMod = 2;
/** Value of Event.EventType DELETE. */
export const eventDelete = 1;
/** Watch id in a response to all watches, or for a watch that was not created. */
export const noWatchId = -1;

export interface Wire {
  readonly range: MethodDefinition<RangeRequest, RangeResponse>;
  readonly txn: MethodDefinition<TxnRequest, TxnResponse>;
  readonly compact: MethodDefinition<{ readonly revision: number }, { readonly header: WireHeader }>;
  readonly watch: MethodDefinition<WatchRequest, WatchResponse>;
  readonly leaseGrant: MethodDefinition<{ readonly TTL: number; readonly ID: number }, { readonly TTL: number }>;
  readonly status: MethodDefinition<Record<string, never>, { readonly version: string; readonly dbSize: number }>;
  readonly authenticate: MethodDefinition<
    { readonly name: string; readonly password: string },
    { readonly token: string }
  >;
}

let loaded: Wire | undefined;

/** Returns the methods of etcd's services. The first call reads the file. */
export function loadWire(): Wire {
  loaded ??= load();
  return loaded;
}

function load(): Wire {
  const file = fileURLToPath(new URL('../proto/etcd.proto', import.meta.url));
  // Revisions stay below 2^53. Leases of other clients may not, but are only compared with 0.
  const services = loadSync(file, { longs: Number, enums: Number, defaults: true });
  const method = (service: string, name: string): never => {
    const definition = services[`etcdserverpb.${service}`] as ServiceDefinition | undefined;
    const found = definition?.[name];
    if (found === undefined) throw new TypeError(`etcd.proto lacks ${service}.${name}`);
    // The decoder returns the shapes declared above; the conformance suite reads every field.
    return found as never;
  };
  return {
    range: method('KV', 'Range'),
    txn: method('KV', 'Txn'),
    compact: method('KV', 'Compact'),
    watch: method('Watch', 'Watch'),
    leaseGrant: method('Lease', 'LeaseGrant'),
    status: method('Maintenance', 'Status'),
    authenticate: method('Auth', 'Authenticate'),
  };
}
