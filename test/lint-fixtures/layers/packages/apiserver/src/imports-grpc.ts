import '@grpc/grpc-js';
