import '../../control-plane/src/index.ts';
