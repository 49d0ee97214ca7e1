import '../definition/definition.ts';
