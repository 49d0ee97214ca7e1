// WatchFrames encodes the events of one watch in the form that its client requested. All watchers of an event share
// frames of whole objects and of metadata. Tables are shared within one second, because ages in them change.

import { type Clock, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { type ChangeType, formatApiVersion, initialEventsEndAnnotation } from '@kapstan/api/internal';
import type { StorageEvent } from '@kapstan/storage';
import { watchFrame, wrapMessage } from '../../codec/protobuf-envelope.ts';
import { encodeValue, protobufFormat } from '../../codec/wire-format.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import {
  frameOf,
  metadataFrame,
  metadataMessage,
  objectFrame,
  objectMessage,
  partialMetadata,
  type StoredObject,
} from '../answer/encodings.ts';
import { type IncludeObject, tableFields, tableRow } from '../answer/table-response.ts';
import type { OutputForm } from '../exchange/negotiation.ts';
import { statusOf, wireStatus } from '../exchange/status-response.ts';
import type { FrameForm } from './initial-slices.ts';

/** The last Table made of an object, kept while a watch holds the object. Its ages are right for one second. */
const lastTables = new WeakMap<StoredObject, LastTable>();

interface LastTable {
  readonly definition: ResourceDefinition;
  /** All other properties on which the frame depends. */
  readonly name: string;
  readonly frame: WeakRef<Uint8Array>;
}

export type WatchItem = StorageEvent<UnstructuredObject> | { readonly type: 'ERROR'; readonly error: Error };

/** Returns the object of an initial event; undefined for anything else. */
export function addedObject(item: WatchItem | Uint8Array | undefined): StoredObject | undefined {
  return item === undefined || item instanceof Uint8Array || item.type !== 'ADDED' ? undefined : item.stored;
}

export interface WatchFramesOptions {
  readonly definition: ResourceDefinition;
  readonly form: OutputForm;
  readonly includeObject: IncludeObject;
  readonly clock: Clock;
}

export class WatchFrames {
  readonly #options: WatchFramesOptions;
  #hasSentColumns = false;

  constructor(options: WatchFramesOptions) {
    this.#options = options;
  }

  /**
   * Returns the frame of an item. Call it in the order of the events. Undefined where the form has no events, as for
   * lists of metadata.
   */
  of(item: WatchItem): Uint8Array | undefined {
    if (item.type === 'ERROR') return this.#valueFrame('ERROR', wireStatus(statusOf(item.error)));
    if (this.#options.form.target?.kind === 'PartialObjectMetadataList') return undefined;
    if (item.type === 'BOOKMARK') return this.#bookmark(item);
    return this.#options.form.format.name === 'protobuf'
      ? this.#protobuf(item.type, item.stored)
      : this.#json(item.type, item.stored);
  }

  /**
   * The form of the frames of added objects. Undefined until the columns of a Table have been sent, and where there are
   * no frames.
   */
  get addedForm(): FrameForm | undefined {
    const { definition, form, includeObject, clock } = this.#options;
    const { format, target } = form;
    if (target?.kind === 'PartialObjectMetadataList') return undefined;
    const base = target === undefined ? format.name : `${format.name} ${target.kind} ${target.version}`;
    if (target?.kind !== 'Table') return { definition, name: base };
    if (!this.#hasSentColumns) return undefined;
    return { definition, name: `${base} ${includeObject} ${Math.floor(clock.now() / 1000)}` };
  }

  #json(type: ChangeType, stored: StoredObject): Uint8Array {
    const { definition, form } = this.#options;
    const { target } = form;
    if (target === undefined) return objectFrame(type, stored);
    if (target.kind === 'Table') return this.#tableFrame(type, stored);
    return metadataFrame(type, stored, { version: target.version, owner: definition });
  }

  #tableFrame(type: ChangeType, stored: StoredObject): Uint8Array {
    const { definition, form, includeObject, clock } = this.#options;
    const { format, target } = form;
    const second = Math.floor(clock.now() / 1000);
    const name = `${type} ${format.name} ${target?.version} ${includeObject} ${this.#hasSentColumns} ${second}`;
    const known = lastTables.get(stored);
    const isSame = known?.name === name && known.definition === definition;
    const shared = isSame ? known.frame.deref() : undefined;
    if (shared !== undefined) {
      this.#hasSentColumns = true;
      return shared;
    }
    const frame = this.#valueFrame(
      type,
      stored.view((object) => this.#table(object)),
    );
    lastTables.set(stored, { definition, name, frame: new WeakRef(frame) });
    return frame;
  }

  #protobuf(type: ChangeType, stored: StoredObject): Uint8Array {
    const { definition, form } = this.#options;
    const name = `watch-protobuf-${form.target === undefined ? 'object' : form.target.version}-${type}`;
    return stored.encoded({ name, encode: () => watchFrame(type, envelopeOf(definition, stored, form)) });
  }

  #bookmark(item: { readonly revision: number; readonly initialEventsEnd: boolean }): Uint8Array {
    const { definition, form } = this.#options;
    const annotations = item.initialEventsEnd ? { annotations: { [initialEventsEndAnnotation]: 'true' } } : {};
    const metadata = { resourceVersion: String(item.revision), ...annotations };
    const object = { kind: definition.kind, apiVersion: formatApiVersion(definition), metadata };
    const target = form.target;
    if (target === undefined) return this.#valueFrame('BOOKMARK', object);
    const value = target.kind === 'Table' ? this.#table(object) : partialMetadata(object, target.version, definition);
    return this.#valueFrame('BOOKMARK', value);
  }

  #valueFrame(type: string, value: unknown): Uint8Array {
    const { definition, form } = this.#options;
    const { types } = definition.schema;
    if (form.format.name === 'protobuf') return watchFrame(type, encodeValue(protobufFormat, value, { types }));
    return frameOf(type, Buffer.from(stringifyJson(value)));
  }

  /** Returns a Table of one row. Only the first event carries the columns. */
  #table(object: StoredObject['object']): Record<string, unknown> {
    const { definition, includeObject, clock, form } = this.#options;
    const version = form.target?.version ?? 'v1';
    const metadata = { resourceVersion: object.metadata?.resourceVersion ?? '' };
    const columns = this.#hasSentColumns ? ({ columns: 'none' } as const) : {};
    this.#hasSentColumns = true;
    const row = tableRow(definition, object, { version, includeObject, nowMs: clock.now() });
    return { ...tableFields(definition.table, metadata, { version, ...columns }), rows: [row] };
  }
}

function envelopeOf(definition: ResourceDefinition, stored: StoredObject, form: OutputForm): Uint8Array {
  if (form.target !== undefined) {
    const kind = { group: 'meta.k8s.io', version: form.target.version, kind: 'PartialObjectMetadata' };
    return wrapMessage(kind, metadataMessage(stored, definition));
  }
  const message = definition.schema.types?.messageOfKind(definition);
  if (message === undefined) throw new TypeError(`no protobuf form of ${definition.kind}`);
  return wrapMessage(definition, objectMessage(stored, message));
}
