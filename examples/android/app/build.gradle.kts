plugins {
    id("com.android.application")
    id("org.jetbrains.kotlin.android")
}

android {
    namespace = "org.pinnace.digits"
    compileSdk = 35

    defaultConfig {
        applicationId = "org.pinnace.digits"
        minSdk = 24
        targetSdk = 35
        versionCode = 1
        versionName = "1.0"
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }

    kotlinOptions {
        jvmTarget = "17"
    }

    // The system can map a file that is not compressed.
    androidResources {
        noCompress += listOf("onnx", "ort")
    }
}

dependencies {
    implementation("com.microsoft.onnxruntime:onnxruntime-android:1.31.+")
}
