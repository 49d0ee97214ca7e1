// Encodes a Swagger document as a protobuf message, the only form that client-go requests. It is made of pieces that
// the caller can make one at a time: fields 8 (paths), 9 (definitions) and 10 (parameters) may repeat and are merged.
// Source: google/gnostic-models openapiv2/OpenAPIv2.proto.
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

export function swaggerHead({ title, version }: { readonly title: string; readonly version: string }): Uint8Array {
  return piece((writer) => {
    writer.text(1, '2.0');
    writer.message(2, () => {
      writer.text(1, title);
      writer.text(2, version);
    });
  });
}

export function swaggerPathPiece(path: string, item: Json): Uint8Array {
  return piece((writer) =>
    writer.message(8, () => writeNamed(writer, 2, { name: path, shape: pathItemShape, value: item })),
  );
}

export function* swaggerDefinitionPieces(name: string, schema: Json): SlicedWork<Uint8Array[]> {
  const value = yield* preparedSchema(schema, encodeSchema);
  return [piece((writer) => writer.message(9, () => writeNamed(writer, 1, { name, shape: schemaShape, value })))];
}

export function swaggerParameterPiece(name: string, value: Json): Uint8Array {
  return piece((writer) =>
    writer.message(10, () =>
      writer.message(1, () => {
        writer.text(1, name);
        writer.message(2, () => writeParameter(writer, value));
      }),
    ),
  );
}

/** Returns the security definitions. */
export function swaggerTail(document: Json): Uint8Array {
  return piece((writer) => writeShape(writer, tailShape, document));
}

function encodeSchema(value: Json): EncodedMessage {
  return new EncodedMessage(piece((writer) => writeShape(writer, schemaShape, value)));
}

const schema: WriteField = (writer, field, value) => {
  if (value instanceof EncodedMessage) writer.bytes(field, value.bytes);
  else writer.message(field, () => writeShape(writer, schemaShape, value as Json));
};
const properties: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writer.message(1, () => {
        writer.text(1, name);
        schema(writer, 2, one);
      });
    }
  });
const valuesSchema: WriteField = (writer, field, value) =>
  writer.message(field, () => (isJsonObject(value) ? schema(writer, 1, value) : flag(writer, 2, value)));

const schemaShape: Shape = {
  fields: {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, whole],
    minLength: [12, whole],
    pattern: [13, text],
    maxItems: [14, whole],
    minItems: [15, whole],
    uniqueItems: [16, flag],
    maxProperties: [17, whole],
    minProperties: [18, whole],
    required: [19, each(text)],
    enum: [20, each(any)],
    additionalProperties: [21, valuesSchema],
    type: [22, within(1, text)],
    items: [23, within(1, schema)],
    allOf: [24, each(schema)],
    properties: [25, properties],
    externalDocs: [29, message(() => externalDocsShape)],
    example: [30, any],
  },
  extensions: 31,
};

const externalDocsShape: Shape = { fields: { description: [1, text], url: [2, text] }, extensions: 3 };

const bodyShape: Shape = {
  fields: {
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, schema],
  },
};
const itemsShape: Shape = { fields: { type: [1, text] } };
const queryShape: Shape = {
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    format: [7, text],
    items: [8, message(() => itemsShape)],
    uniqueItems: [20, flag],
  },
};
const pathShape: Shape = {
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [19, flag],
  },
};

const body = message(() => bodyShape);
const pathParameter = within(
  4,
  message(() => pathShape),
);
const queryParameter = within(
  3,
  message(() => queryShape),
);

/** ParametersItem contains a parameter, or a reference to a shared one. */
const parameter: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    const { $ref } = value as Json;
    if ($ref === undefined) writer.message(1, () => writeParameter(writer, value as Json));
    else writer.message(2, () => text(writer, 1, $ref));
  });

/** Writes a Parameter, which holds a body_parameter, or a non_body_parameter with one message for each place. */
function writeParameter(writer: ProtobufWriter, value: Json): void {
  if (value.in === 'body') body(writer, 1, value);
  else if (value.in === 'path') pathParameter(writer, 2, value);
  else queryParameter(writer, 2, value);
}

const responseShape: Shape = { fields: { description: [1, text], schema: [2, within(1, schema)] } };
const responses: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [code, one] of Object.entries(value as Json)) {
      writer.message(1, () => {
        writer.text(1, code);
        within(
          1,
          message(() => responseShape),
        )(writer, 2, one);
      });
    }
  });

const operationShape: Shape = {
  fields: {
    tags: [1, each(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, each(text)],
    consumes: [7, each(text)],
    parameters: [8, each(parameter)],
    responses: [9, responses],
    schemes: [10, each(text)],
  },
  extensions: 13,
};
const operation = message(() => operationShape);

const pathItemShape: Shape = {
  fields: {
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, each(parameter)],
  },
};

const keyShape: Shape = { fields: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] } };
const apiKey = within(
  2,
  message(() => keyShape),
);
const securityDefinitions: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writer.message(1, () => {
        writer.text(1, name);
        apiKey(writer, 2, one);
      });
    }
  });
/** Writes a security requirement without scopes. */
const security: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const name of Object.keys(value as Json)) {
      writer.message(1, () => {
        writer.text(1, name);
        writer.message(2, () => undefined);
      });
    }
  });
const tailShape: Shape = { fields: { security: [12, each(security)], securityDefinitions: [13, securityDefinitions] } };
