// Encodes an OpenAPI v3 document as a protobuf message. It is made of pieces that the caller can make one at a time:
// fields 4 (paths) and 5 (components) may repeat and are merged. Used by openapi-documents.ts; swagger-protobuf.ts
// encodes v2. Source: google/gnostic-models openapiv3/OpenAPIv3.proto, OpenAPIv3.go (which JSON becomes which message).
import { isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import type { ProtobufWriter } from '../codec/protobuf-wire.ts';
import {
  any,
  double,
  EncodedMessage,
  each,
  flag,
  type Json,
  message,
  piece,
  preparedSchema,
  type Shape,
  text,
  type WriteField,
  whole,
  within,
  writeNamed,
  writeShape,
} from './gnostic-message.ts';

/** Returns everything but paths and schemas. */
export function openApiHead(document: Json, hasSchemas: boolean): Uint8Array {
  return piece((writer) => {
    writeShape(writer, documentShape, document);
    // Both messages are written even when empty. A document without schemas has no message for them.
    writer.message(4, () => undefined);
    if (hasSchemas) writer.message(5, () => writer.message(1, () => undefined));
  });
}

export function openApiPathPiece(path: string, item: Json): Uint8Array {
  return piece((writer) =>
    writer.message(4, () => writeNamed(writer, 1, { name: path, shape: pathItemShape, value: item })),
  );
}

export function* openApiSchemaPieces(name: string, schema: Json): SlicedWork<Uint8Array[]> {
  const prepared = yield* preparedSchema(schema, encodeSchema);
  return [
    piece((writer) => writer.message(5, () => writer.message(1, () => namedSchema(writer, 1, [name, prepared])))),
  ];
}

function encodeSchema(schema: Json): EncodedMessage {
  return new EncodedMessage(piece((writer) => writeSchema(writer, schema)));
}

const referenceShape: Shape = { fields: { $ref: [1, text], summary: [2, text], description: [3, text] } };

/** A schema that names another one is a reference, which keeps only its description in addition. */
const schemaOrReference: WriteField = (writer, field, value) => {
  if (value instanceof EncodedMessage) writer.bytes(field, value.bytes);
  else writer.message(field, () => writeSchema(writer, value as Json));
};

function writeSchema(writer: ProtobufWriter, schema: Json): void {
  const isReference = isJsonObject(schema) && Object.hasOwn(schema, '$ref');
  const [inner, shape] = isReference ? ([2, referenceShape] as const) : ([1, schemaShape] as const);
  writer.message(inner, () => writeShape(writer, shape, schema));
}

const namedSchema: WriteField = (writer, field, entry) => {
  const [name, schema] = entry as readonly [string, unknown];
  writer.message(field, () => {
    writer.text(1, name);
    schemaOrReference(writer, 2, schema);
  });
};

const properties: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const entry of Object.entries(value as Json)) namedSchema(writer, 1, entry);
  });

const valuesSchema: WriteField = (writer, field, value) =>
  writer.message(field, () => (isJsonObject(value) ? schemaOrReference(writer, 1, value) : choice(writer, 2, value)));

/** Writes a boolean even when it is false, because its presence counts. */
const choice: WriteField = (writer, field, value) => whole(writer, field, value === true ? 1 : 0);

/** A list, an object or null has no form here, so the message stays empty. */
const defaultValue: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    if (typeof value === 'string') return writer.text(3, value);
    if (typeof value === 'boolean') return choice(writer, 2, value);
    // A long number is an object that holds its digits.
    const number = value === null || Array.isArray(value) ? Number.NaN : Number(value);
    if (!Number.isNaN(number)) writer.double(1, number);
  });

const schemas = each(schemaOrReference);
const externalDocsShape: Shape = { fields: { description: [1, text], url: [2, text] }, extensions: 3 };

const schemaShape: Shape = {
  fields: {
    nullable: [1, flag],
    externalDocs: [6, message(() => externalDocsShape)],
    example: [7, any],
    title: [9, text],
    multipleOf: [10, double],
    maximum: [11, double],
    exclusiveMaximum: [12, flag],
    minimum: [13, double],
    exclusiveMinimum: [14, flag],
    maxLength: [15, whole],
    minLength: [16, whole],
    pattern: [17, text],
    maxItems: [18, whole],
    minItems: [19, whole],
    uniqueItems: [20, flag],
    maxProperties: [21, whole],
    minProperties: [22, whole],
    required: [23, each(text)],
    enum: [24, each(any)],
    type: [25, text],
    allOf: [26, schemas],
    oneOf: [27, schemas],
    anyOf: [28, schemas],
    not: [29, message(() => schemaShape)],
    items: [30, within(1, schemaOrReference)],
    properties: [31, properties],
    additionalProperties: [32, valuesSchema],
    default: [33, defaultValue],
    description: [34, text],
    format: [35, text],
  },
  extensions: 36,
};

const mediaTypeShape: Shape = { fields: { schema: [1, schemaOrReference] } };
const mediaTypes: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writeNamed(writer, 1, { name, shape: mediaTypeShape, value: one as Json });
    }
  });

const parameterShape: Shape = {
  fields: {
    name: [1, text],
    in: [2, text],
    description: [3, text],
    required: [4, flag],
    schema: [10, schemaOrReference],
  },
};
const writeParameter = message(() => parameterShape);
const parameter = within(1, writeParameter);

const bodyShape: Shape = { fields: { description: [1, text], content: [2, mediaTypes], required: [3, flag] } };
const writeBody = message(() => bodyShape);

const responseShape: Shape = { fields: { description: [1, text], content: [3, mediaTypes] } };
const writeResponse = message(() => responseShape);
const responses: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [code, one] of Object.entries(value as Json)) {
      writer.message(2, () => {
        writer.text(1, code);
        writer.message(2, () => writeResponse(writer, 1, one));
      });
    }
  });

const operationShape: Shape = {
  fields: {
    tags: [1, each(text)],
    description: [3, text],
    operationId: [5, text],
    parameters: [6, each(parameter)],
    requestBody: [7, within(1, writeBody)],
    responses: [8, responses],
    deprecated: [10, flag],
  },
  extensions: 13,
};
const operation = message(() => operationShape);

const pathItemShape: Shape = {
  fields: {
    get: [4, operation],
    put: [5, operation],
    post: [6, operation],
    delete: [7, operation],
    options: [8, operation],
    head: [9, operation],
    patch: [10, operation],
    parameters: [13, each(parameter)],
  },
};

const infoShape: Shape = { fields: { title: [1, text], version: [6, text] } };
const securityShape: Shape = { fields: { type: [1, text], description: [2, text], name: [3, text], in: [4, text] } };
const writeSecurity = message(() => securityShape);
const securitySchemes: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writer.message(1, () => {
        writer.text(1, name);
        writer.message(2, () => writeSecurity(writer, 1, one));
      });
    }
  });
const componentsShape: Shape = { fields: { securitySchemes: [7, securitySchemes] } };
const documentShape: Shape = {
  fields: { openapi: [1, text], info: [2, message(() => infoShape)], components: [5, message(() => componentsShape)] },
};
