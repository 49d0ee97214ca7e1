// The kind of this project. Its schema gives both the definition that servers install and the type of its objects.
import { defineResource } from '@kapstan/api';

export const Greeting = defineResource({
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Greeting',
  columns: [
    { name: 'From', type: 'string', jsonPath: '.spec.from' },
    { name: 'Message', type: 'string', jsonPath: '.spec.message' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  spec: {
    type: 'object',
    properties: {
      message: { type: 'string', minLength: 1, maxLength: 200, description: 'The text.' },
      from: { type: 'string', maxLength: 200, description: 'Who says it. Default: the user who creates the object.' },
    },
    required: ['message'],
    // Rules in CEL hold without a webhook. `kapstan generate` and the tests check them against the schema.
    'x-kubernetes-validations': [
      { rule: 'self.message == self.message.trim()', message: 'message must not begin or end with a space' },
      {
        rule: '!has(oldSelf.from) || (has(self.from) && self.from == oldSelf.from)',
        message: 'from must not change',
      },
    ],
  },
  status: {
    type: 'object',
    properties: {
      observedGeneration: { type: 'integer', description: 'The generation of the spec that the conditions are about.' },
      conditions: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
        items: {
          type: 'object',
          properties: {
            type: { type: 'string' },
            status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
            reason: { type: 'string' },
            message: { type: 'string' },
            lastTransitionTime: { type: 'string', format: 'date-time' },
            observedGeneration: { type: 'integer' },
          },
          required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
        },
      },
    },
  },
});
