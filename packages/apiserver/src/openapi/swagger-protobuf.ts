// Encodes a Swagger document as a protobuf message, the only form that client-go asks for. It is made of pieces that
// the caller can make one at a time: fields 8 (paths) and 9 (definitions) may repeat and are merged. Source:
// google/gnostic-models openapiv2/OpenAPIv2.proto.
import { isJsonObject } from '@kapstan/api/internal';
import {
  any,
  double,
  each,
  flag,
  type Json,
  message,
  piece,
  type Shape,
  text,
  type WriteField,
  whole,
  within,
  writeNamed,
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

export function swaggerDefinitionPiece(name: string, schema: Json): Uint8Array {
  return piece((writer) => writer.message(9, () => writeNamed(writer, 1, { name, shape: schemaShape, value: schema })));
}

const schema = message(() => schemaShape);
const properties: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writeNamed(writer, 1, { name, shape: schemaShape, value: one as Json });
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
    example: [30, any],
  },
  extensions: 31,
};

const bodyShape: Shape = {
  fields: {
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, schema],
  },
};
const queryShape: Shape = {
  fields: {
    required: [1, flag],
    in: [2, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  },
};
const pathShape: Shape = {
  fields: {
    required: [1, flag],
    in: [2, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [18, flag],
  },
};

/** ParametersItem.parameter contains body_parameter or non_body_parameter, and that one the place. */
const parameter: WriteField = (writer, field, value) =>
  writer.message(field, () =>
    writer.message(1, () => {
      const place = (value as Json).in;
      if (place === 'body') return message(() => bodyShape)(writer, 1, value);
      if (place === 'path')
        return within(
          4,
          message(() => pathShape),
        )(writer, 2, value);
      return within(
        3,
        message(() => queryShape),
      )(writer, 2, value);
    }),
  );

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
    consumes: [7, each(text)],
    parameters: [8, each(parameter)],
    responses: [9, responses],
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
    patch: [8, operation],
    parameters: [9, each(parameter)],
  },
};
