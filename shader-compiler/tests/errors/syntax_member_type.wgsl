struct Material {
    vec3 kd;
};
