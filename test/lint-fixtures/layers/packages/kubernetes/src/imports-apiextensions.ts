import '../../apiextensions/src/index.ts';
